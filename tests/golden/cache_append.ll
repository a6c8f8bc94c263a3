; writes into parts of arguments are made in place

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
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
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = mul i64 1, %6
  %21 = mul i64 %20, %8
  %22 = icmp sge i64 %21, 8388608
  %23 = ptrtoint ptr %17 to i64
  %24 = or i64 0, %23
  %25 = mul i64 %19, 4
  %26 = or i64 %24, %25
  %27 = and i64 %26, 63
  %28 = icmp eq i64 %27, 0
  %29 = and i1 %22, %28
  %30 = add i64 %8, 4095
  %31 = lshr i64 %30, 12
  %32 = urem i64 %2, %31
  %33 = udiv i64 %2, %31
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %119, %tail.end ]
  %34 = phi i64 [ %33, %work ], [ %118, %tail.end ]
  %35 = phi i64 [ %32, %work ], [ %116, %tail.end ]
  %36 = icmp slt i64 %task1, %3
  br i1 %36, label %task, label %task.end

task:                                             ; preds = %task.head
  %37 = mul i64 %34, %14
  %38 = getelementptr float, ptr %10, i64 %37
  %39 = mul i64 %34, %19
  %40 = getelementptr float, ptr %17, i64 %39
  %41 = mul i64 %35, 4096
  %42 = add i64 %41, 4096
  %43 = call i64 @llvm.smin.i64(i64 %42, i64 %8)
  %44 = sub i64 %43, %41
  %45 = and i64 %44, -32
  %46 = add i64 %41, %45
  br i1 %29, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %41, %then ], [ %74, %vector ]
  %47 = icmp slt i64 %vector2, %46
  br i1 %47, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %48 = mul i64 %vector2, 1
  %49 = getelementptr float, ptr %38, i64 %48
  %50 = load <8 x float>, ptr %49, align 4
  %51 = mul i64 %vector2, 1
  %52 = getelementptr float, ptr %38, i64 %51
  %53 = getelementptr float, ptr %52, i64 8
  %54 = load <8 x float>, ptr %53, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %38, i64 %55
  %57 = getelementptr float, ptr %56, i64 16
  %58 = load <8 x float>, ptr %57, align 4
  %59 = mul i64 %vector2, 1
  %60 = getelementptr float, ptr %38, i64 %59
  %61 = getelementptr float, ptr %60, i64 24
  %62 = load <8 x float>, ptr %61, align 4
  %63 = mul i64 %vector2, 1
  %64 = getelementptr float, ptr %40, i64 %63
  store <8 x float> %50, ptr %64, align 32, !nontemporal !0
  %65 = mul i64 %vector2, 1
  %66 = getelementptr float, ptr %40, i64 %65
  %67 = getelementptr float, ptr %66, i64 8
  store <8 x float> %54, ptr %67, align 32, !nontemporal !0
  %68 = mul i64 %vector2, 1
  %69 = getelementptr float, ptr %40, i64 %68
  %70 = getelementptr float, ptr %69, i64 16
  store <8 x float> %58, ptr %70, align 32, !nontemporal !0
  %71 = mul i64 %vector2, 1
  %72 = getelementptr float, ptr %40, i64 %71
  %73 = getelementptr float, ptr %72, i64 24
  store <8 x float> %62, ptr %73, align 32, !nontemporal !0
  %74 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %41, %else ], [ %102, %vector4 ]
  %75 = icmp slt i64 %vector5, %46
  br i1 %75, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %76 = mul i64 %vector5, 1
  %77 = getelementptr float, ptr %38, i64 %76
  %78 = load <8 x float>, ptr %77, align 4
  %79 = mul i64 %vector5, 1
  %80 = getelementptr float, ptr %38, i64 %79
  %81 = getelementptr float, ptr %80, i64 8
  %82 = load <8 x float>, ptr %81, align 4
  %83 = mul i64 %vector5, 1
  %84 = getelementptr float, ptr %38, i64 %83
  %85 = getelementptr float, ptr %84, i64 16
  %86 = load <8 x float>, ptr %85, align 4
  %87 = mul i64 %vector5, 1
  %88 = getelementptr float, ptr %38, i64 %87
  %89 = getelementptr float, ptr %88, i64 24
  %90 = load <8 x float>, ptr %89, align 4
  %91 = mul i64 %vector5, 1
  %92 = getelementptr float, ptr %40, i64 %91
  store <8 x float> %78, ptr %92, align 4
  %93 = mul i64 %vector5, 1
  %94 = getelementptr float, ptr %40, i64 %93
  %95 = getelementptr float, ptr %94, i64 8
  store <8 x float> %82, ptr %95, align 4
  %96 = mul i64 %vector5, 1
  %97 = getelementptr float, ptr %40, i64 %96
  %98 = getelementptr float, ptr %97, i64 16
  store <8 x float> %86, ptr %98, align 4
  %99 = mul i64 %vector5, 1
  %100 = getelementptr float, ptr %40, i64 %99
  %101 = getelementptr float, ptr %100, i64 24
  store <8 x float> %90, ptr %101, align 4
  %102 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %46, %endif ], [ %113, %tail ]
  %103 = icmp slt i64 %tail7, %43
  br i1 %103, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %104 = sub i64 %43, %tail7
  %105 = call i64 @llvm.umin.i64(i64 %104, i64 8)
  %106 = trunc i64 %105 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %106, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %107 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %108 = mul i64 %tail7, 1
  %109 = getelementptr float, ptr %38, i64 %108
  %110 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %109, i32 4, <8 x i1> %107, <8 x float> zeroinitializer)
  %111 = mul i64 %tail7, 1
  %112 = getelementptr float, ptr %40, i64 %111
  call void @llvm.masked.store.v8f32.p0(<8 x float> %110, ptr %112, i32 4, <8 x i1> %107)
  %113 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %114 = add i64 %35, 1
  %115 = icmp eq i64 %114, %31
  %116 = select i1 %115, i64 0, i64 %114
  %117 = zext i1 %115 to i64
  %118 = add i64 %34, %117
  %119 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %29, label %then8, label %endif9

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

; == slice_scatter
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + p3 [p4, 1]
;   %0 f32 = load a0
;   %1 f32 = store a1 %0
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
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 3
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr float, ptr %12, i64 %16
  %18 = getelementptr i64, ptr %1, i64 4
  %19 = load i64, ptr %18, align 8
  %20 = mul i64 1, %6
  %21 = mul i64 %20, %8
  %22 = icmp sge i64 %21, 8388608
  %23 = ptrtoint ptr %17 to i64
  %24 = or i64 0, %23
  %25 = mul i64 %19, 4
  %26 = or i64 %24, %25
  %27 = and i64 %26, 63
  %28 = icmp eq i64 %27, 0
  %29 = and i1 %22, %28
  %30 = add i64 %8, 4095
  %31 = lshr i64 %30, 12
  %32 = urem i64 %2, %31
  %33 = udiv i64 %2, %31
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %119, %tail.end ]
  %34 = phi i64 [ %33, %work ], [ %118, %tail.end ]
  %35 = phi i64 [ %32, %work ], [ %116, %tail.end ]
  %36 = icmp slt i64 %task1, %3
  br i1 %36, label %task, label %task.end

task:                                             ; preds = %task.head
  %37 = mul i64 %34, %14
  %38 = getelementptr float, ptr %10, i64 %37
  %39 = mul i64 %34, %19
  %40 = getelementptr float, ptr %17, i64 %39
  %41 = mul i64 %35, 4096
  %42 = add i64 %41, 4096
  %43 = call i64 @llvm.smin.i64(i64 %42, i64 %8)
  %44 = sub i64 %43, %41
  %45 = and i64 %44, -32
  %46 = add i64 %41, %45
  br i1 %29, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %41, %then ], [ %74, %vector ]
  %47 = icmp slt i64 %vector2, %46
  br i1 %47, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %48 = mul i64 %vector2, 1
  %49 = getelementptr float, ptr %38, i64 %48
  %50 = load <8 x float>, ptr %49, align 4
  %51 = mul i64 %vector2, 1
  %52 = getelementptr float, ptr %38, i64 %51
  %53 = getelementptr float, ptr %52, i64 8
  %54 = load <8 x float>, ptr %53, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %38, i64 %55
  %57 = getelementptr float, ptr %56, i64 16
  %58 = load <8 x float>, ptr %57, align 4
  %59 = mul i64 %vector2, 1
  %60 = getelementptr float, ptr %38, i64 %59
  %61 = getelementptr float, ptr %60, i64 24
  %62 = load <8 x float>, ptr %61, align 4
  %63 = mul i64 %vector2, 1
  %64 = getelementptr float, ptr %40, i64 %63
  store <8 x float> %50, ptr %64, align 32, !nontemporal !0
  %65 = mul i64 %vector2, 1
  %66 = getelementptr float, ptr %40, i64 %65
  %67 = getelementptr float, ptr %66, i64 8
  store <8 x float> %54, ptr %67, align 32, !nontemporal !0
  %68 = mul i64 %vector2, 1
  %69 = getelementptr float, ptr %40, i64 %68
  %70 = getelementptr float, ptr %69, i64 16
  store <8 x float> %58, ptr %70, align 32, !nontemporal !0
  %71 = mul i64 %vector2, 1
  %72 = getelementptr float, ptr %40, i64 %71
  %73 = getelementptr float, ptr %72, i64 24
  store <8 x float> %62, ptr %73, align 32, !nontemporal !0
  %74 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %41, %else ], [ %102, %vector4 ]
  %75 = icmp slt i64 %vector5, %46
  br i1 %75, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %76 = mul i64 %vector5, 1
  %77 = getelementptr float, ptr %38, i64 %76
  %78 = load <8 x float>, ptr %77, align 4
  %79 = mul i64 %vector5, 1
  %80 = getelementptr float, ptr %38, i64 %79
  %81 = getelementptr float, ptr %80, i64 8
  %82 = load <8 x float>, ptr %81, align 4
  %83 = mul i64 %vector5, 1
  %84 = getelementptr float, ptr %38, i64 %83
  %85 = getelementptr float, ptr %84, i64 16
  %86 = load <8 x float>, ptr %85, align 4
  %87 = mul i64 %vector5, 1
  %88 = getelementptr float, ptr %38, i64 %87
  %89 = getelementptr float, ptr %88, i64 24
  %90 = load <8 x float>, ptr %89, align 4
  %91 = mul i64 %vector5, 1
  %92 = getelementptr float, ptr %40, i64 %91
  store <8 x float> %78, ptr %92, align 4
  %93 = mul i64 %vector5, 1
  %94 = getelementptr float, ptr %40, i64 %93
  %95 = getelementptr float, ptr %94, i64 8
  store <8 x float> %82, ptr %95, align 4
  %96 = mul i64 %vector5, 1
  %97 = getelementptr float, ptr %40, i64 %96
  %98 = getelementptr float, ptr %97, i64 16
  store <8 x float> %86, ptr %98, align 4
  %99 = mul i64 %vector5, 1
  %100 = getelementptr float, ptr %40, i64 %99
  %101 = getelementptr float, ptr %100, i64 24
  store <8 x float> %90, ptr %101, align 4
  %102 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %46, %endif ], [ %113, %tail ]
  %103 = icmp slt i64 %tail7, %43
  br i1 %103, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %104 = sub i64 %43, %tail7
  %105 = call i64 @llvm.umin.i64(i64 %104, i64 8)
  %106 = trunc i64 %105 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %106, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %107 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %108 = mul i64 %tail7, 1
  %109 = getelementptr float, ptr %38, i64 %108
  %110 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %109, i32 4, <8 x i1> %107, <8 x float> zeroinitializer)
  %111 = mul i64 %tail7, 1
  %112 = getelementptr float, ptr %40, i64 %111
  call void @llvm.masked.store.v8f32.p0(<8 x float> %110, ptr %112, i32 4, <8 x i1> %107)
  %113 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %114 = add i64 %35, 1
  %115 = icmp eq i64 %114, %31
  %116 = select i1 %115, i64 0, i64 %114
  %117 = zext i1 %115 to i64
  %118 = add i64 %34, %117
  %119 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %29, label %then8, label %endif9

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
