; weights that are widened before a product are read as they are stored

; == full
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   access a0 b0 + 0 [0]
;   %0 f32 = const 1 #3ff0000000000000
;   %1 f32 = store a0 %0
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = mul i64 1, %6
  %10 = add i64 %6, 4095
  %11 = lshr i64 %10, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %29, %tail.end ]
  %12 = phi i64 [ %2, %work ], [ %28, %tail.end ]
  %13 = icmp slt i64 %task1, %3
  br i1 %13, label %task, label %task.end

task:                                             ; preds = %task.head
  %14 = mul i64 %12, 4096
  %15 = add i64 %14, 4096
  %16 = call i64 @llvm.smin.i64(i64 %15, i64 %6)
  %17 = sub i64 %16, %14
  %18 = and i64 %17, -32
  %19 = add i64 %14, %18
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %14, %task ], [ %21, %vector ]
  %20 = icmp slt i64 %vector2, %19
  br i1 %20, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  store float 1.000000e+00, ptr %8, align 4
  %21 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %19, %vector.end ], [ %27, %tail ]
  %22 = icmp slt i64 %tail3, %16
  br i1 %22, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %23 = sub i64 %16, %tail3
  %24 = call i64 @llvm.umin.i64(i64 %23, i64 8)
  %25 = trunc i64 %24 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %25, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %26 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  store float 1.000000e+00, ptr %8, align 4
  %27 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %28 = add i64 %12, 1
  %29 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == relu
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 0 #0000000000000000
;   %2 f32 = op Max %0 %1
;   %3 f32 = store a1 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = mul i64 1, %6
  %12 = icmp sge i64 %11, 8388608
  %13 = ptrtoint ptr %10 to i64
  %14 = or i64 0, %13
  %15 = and i64 %14, 63
  %16 = icmp eq i64 %15, 0
  %17 = and i1 %12, %16
  %18 = add i64 %6, 4095
  %19 = lshr i64 %18, 12
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %132, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %131, %tail.end ]
  %21 = icmp slt i64 %task1, %3
  br i1 %21, label %task, label %task.end

task:                                             ; preds = %task.head
  %22 = mul i64 %20, 4096
  %23 = add i64 %22, 4096
  %24 = call i64 @llvm.smin.i64(i64 %23, i64 %6)
  %25 = sub i64 %24, %22
  %26 = and i64 %25, -32
  %27 = add i64 %22, %26
  br i1 %17, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %22, %then ], [ %71, %vector ]
  %28 = icmp slt i64 %vector2, %27
  br i1 %28, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector2, 1
  %33 = getelementptr float, ptr %8, i64 %32
  %34 = getelementptr float, ptr %33, i64 8
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector2, 1
  %37 = getelementptr float, ptr %8, i64 %36
  %38 = getelementptr float, ptr %37, i64 16
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %8, i64 %40
  %42 = getelementptr float, ptr %41, i64 24
  %43 = load <8 x float>, ptr %42, align 4
  %44 = fcmp ogt <8 x float> %31, zeroinitializer
  %45 = select <8 x i1> %44, <8 x float> %31, <8 x float> zeroinitializer
  %46 = fcmp uno <8 x float> %31, %31
  %47 = select <8 x i1> %46, <8 x float> %31, <8 x float> %45
  %48 = fcmp ogt <8 x float> %35, zeroinitializer
  %49 = select <8 x i1> %48, <8 x float> %35, <8 x float> zeroinitializer
  %50 = fcmp uno <8 x float> %35, %35
  %51 = select <8 x i1> %50, <8 x float> %35, <8 x float> %49
  %52 = fcmp ogt <8 x float> %39, zeroinitializer
  %53 = select <8 x i1> %52, <8 x float> %39, <8 x float> zeroinitializer
  %54 = fcmp uno <8 x float> %39, %39
  %55 = select <8 x i1> %54, <8 x float> %39, <8 x float> %53
  %56 = fcmp ogt <8 x float> %43, zeroinitializer
  %57 = select <8 x i1> %56, <8 x float> %43, <8 x float> zeroinitializer
  %58 = fcmp uno <8 x float> %43, %43
  %59 = select <8 x i1> %58, <8 x float> %43, <8 x float> %57
  %60 = mul i64 %vector2, 1
  %61 = getelementptr float, ptr %10, i64 %60
  store <8 x float> %47, ptr %61, align 32, !nontemporal !0
  %62 = mul i64 %vector2, 1
  %63 = getelementptr float, ptr %10, i64 %62
  %64 = getelementptr float, ptr %63, i64 8
  store <8 x float> %51, ptr %64, align 32, !nontemporal !0
  %65 = mul i64 %vector2, 1
  %66 = getelementptr float, ptr %10, i64 %65
  %67 = getelementptr float, ptr %66, i64 16
  store <8 x float> %55, ptr %67, align 32, !nontemporal !0
  %68 = mul i64 %vector2, 1
  %69 = getelementptr float, ptr %10, i64 %68
  %70 = getelementptr float, ptr %69, i64 24
  store <8 x float> %59, ptr %70, align 32, !nontemporal !0
  %71 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %22, %else ], [ %115, %vector4 ]
  %72 = icmp slt i64 %vector5, %27
  br i1 %72, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %73 = mul i64 %vector5, 1
  %74 = getelementptr float, ptr %8, i64 %73
  %75 = load <8 x float>, ptr %74, align 4
  %76 = mul i64 %vector5, 1
  %77 = getelementptr float, ptr %8, i64 %76
  %78 = getelementptr float, ptr %77, i64 8
  %79 = load <8 x float>, ptr %78, align 4
  %80 = mul i64 %vector5, 1
  %81 = getelementptr float, ptr %8, i64 %80
  %82 = getelementptr float, ptr %81, i64 16
  %83 = load <8 x float>, ptr %82, align 4
  %84 = mul i64 %vector5, 1
  %85 = getelementptr float, ptr %8, i64 %84
  %86 = getelementptr float, ptr %85, i64 24
  %87 = load <8 x float>, ptr %86, align 4
  %88 = fcmp ogt <8 x float> %75, zeroinitializer
  %89 = select <8 x i1> %88, <8 x float> %75, <8 x float> zeroinitializer
  %90 = fcmp uno <8 x float> %75, %75
  %91 = select <8 x i1> %90, <8 x float> %75, <8 x float> %89
  %92 = fcmp ogt <8 x float> %79, zeroinitializer
  %93 = select <8 x i1> %92, <8 x float> %79, <8 x float> zeroinitializer
  %94 = fcmp uno <8 x float> %79, %79
  %95 = select <8 x i1> %94, <8 x float> %79, <8 x float> %93
  %96 = fcmp ogt <8 x float> %83, zeroinitializer
  %97 = select <8 x i1> %96, <8 x float> %83, <8 x float> zeroinitializer
  %98 = fcmp uno <8 x float> %83, %83
  %99 = select <8 x i1> %98, <8 x float> %83, <8 x float> %97
  %100 = fcmp ogt <8 x float> %87, zeroinitializer
  %101 = select <8 x i1> %100, <8 x float> %87, <8 x float> zeroinitializer
  %102 = fcmp uno <8 x float> %87, %87
  %103 = select <8 x i1> %102, <8 x float> %87, <8 x float> %101
  %104 = mul i64 %vector5, 1
  %105 = getelementptr float, ptr %10, i64 %104
  store <8 x float> %91, ptr %105, align 4
  %106 = mul i64 %vector5, 1
  %107 = getelementptr float, ptr %10, i64 %106
  %108 = getelementptr float, ptr %107, i64 8
  store <8 x float> %95, ptr %108, align 4
  %109 = mul i64 %vector5, 1
  %110 = getelementptr float, ptr %10, i64 %109
  %111 = getelementptr float, ptr %110, i64 16
  store <8 x float> %99, ptr %111, align 4
  %112 = mul i64 %vector5, 1
  %113 = getelementptr float, ptr %10, i64 %112
  %114 = getelementptr float, ptr %113, i64 24
  store <8 x float> %103, ptr %114, align 4
  %115 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %27, %endif ], [ %130, %tail ]
  %116 = icmp slt i64 %tail7, %24
  br i1 %116, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %117 = sub i64 %24, %tail7
  %118 = call i64 @llvm.umin.i64(i64 %117, i64 8)
  %119 = trunc i64 %118 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %119, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %120 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %121 = mul i64 %tail7, 1
  %122 = getelementptr float, ptr %8, i64 %121
  %123 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %122, i32 4, <8 x i1> %120, <8 x float> zeroinitializer)
  %124 = fcmp ogt <8 x float> %123, zeroinitializer
  %125 = select <8 x i1> %124, <8 x float> %123, <8 x float> zeroinitializer
  %126 = fcmp uno <8 x float> %123, %123
  %127 = select <8 x i1> %126, <8 x float> %123, <8 x float> %125
  %128 = mul i64 %tail7, 1
  %129 = getelementptr float, ptr %10, i64 %128
  call void @llvm.masked.store.v8f32.p0(<8 x float> %127, ptr %129, i32 4, <8 x i1> %120)
  %130 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %131 = add i64 %20, 1
  %132 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %17, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
