; two results share a storage

; == mul
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 2 #4000000000000000
;   %2 f32 = op Mul %0 %1
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
  %task1 = phi i64 [ %2, %work ], [ %105, %tail.end ]
  %20 = phi i64 [ %2, %work ], [ %104, %tail.end ]
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
  %vector2 = phi i64 [ %22, %then ], [ %59, %vector ]
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
  %44 = fmul <8 x float> %31, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %45 = fmul <8 x float> %35, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %46 = fmul <8 x float> %39, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %47 = fmul <8 x float> %43, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %48 = mul i64 %vector2, 1
  %49 = getelementptr float, ptr %10, i64 %48
  store <8 x float> %44, ptr %49, align 32, !nontemporal !0
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %10, i64 %50
  %52 = getelementptr float, ptr %51, i64 8
  store <8 x float> %45, ptr %52, align 32, !nontemporal !0
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %10, i64 %53
  %55 = getelementptr float, ptr %54, i64 16
  store <8 x float> %46, ptr %55, align 32, !nontemporal !0
  %56 = mul i64 %vector2, 1
  %57 = getelementptr float, ptr %10, i64 %56
  %58 = getelementptr float, ptr %57, i64 24
  store <8 x float> %47, ptr %58, align 32, !nontemporal !0
  %59 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %22, %else ], [ %91, %vector4 ]
  %60 = icmp slt i64 %vector5, %27
  br i1 %60, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %61 = mul i64 %vector5, 1
  %62 = getelementptr float, ptr %8, i64 %61
  %63 = load <8 x float>, ptr %62, align 4
  %64 = mul i64 %vector5, 1
  %65 = getelementptr float, ptr %8, i64 %64
  %66 = getelementptr float, ptr %65, i64 8
  %67 = load <8 x float>, ptr %66, align 4
  %68 = mul i64 %vector5, 1
  %69 = getelementptr float, ptr %8, i64 %68
  %70 = getelementptr float, ptr %69, i64 16
  %71 = load <8 x float>, ptr %70, align 4
  %72 = mul i64 %vector5, 1
  %73 = getelementptr float, ptr %8, i64 %72
  %74 = getelementptr float, ptr %73, i64 24
  %75 = load <8 x float>, ptr %74, align 4
  %76 = fmul <8 x float> %63, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %77 = fmul <8 x float> %67, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %78 = fmul <8 x float> %71, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %79 = fmul <8 x float> %75, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %80 = mul i64 %vector5, 1
  %81 = getelementptr float, ptr %10, i64 %80
  store <8 x float> %76, ptr %81, align 4
  %82 = mul i64 %vector5, 1
  %83 = getelementptr float, ptr %10, i64 %82
  %84 = getelementptr float, ptr %83, i64 8
  store <8 x float> %77, ptr %84, align 4
  %85 = mul i64 %vector5, 1
  %86 = getelementptr float, ptr %10, i64 %85
  %87 = getelementptr float, ptr %86, i64 16
  store <8 x float> %78, ptr %87, align 4
  %88 = mul i64 %vector5, 1
  %89 = getelementptr float, ptr %10, i64 %88
  %90 = getelementptr float, ptr %89, i64 24
  store <8 x float> %79, ptr %90, align 4
  %91 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %27, %endif ], [ %103, %tail ]
  %92 = icmp slt i64 %tail7, %24
  br i1 %92, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %93 = sub i64 %24, %tail7
  %94 = call i64 @llvm.umin.i64(i64 %93, i64 8)
  %95 = trunc i64 %94 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %95, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %96 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %97 = mul i64 %tail7, 1
  %98 = getelementptr float, ptr %8, i64 %97
  %99 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %98, i32 4, <8 x i1> %96, <8 x float> zeroinitializer)
  %100 = fmul <8 x float> %99, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %101 = mul i64 %tail7, 1
  %102 = getelementptr float, ptr %10, i64 %101
  call void @llvm.masked.store.v8f32.p0(<8 x float> %100, ptr %102, i32 4, <8 x i1> %96)
  %103 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %104 = add i64 %20, 1
  %105 = add i64 %task1, 1
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
