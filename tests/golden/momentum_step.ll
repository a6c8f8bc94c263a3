; two arguments are written by one kernel

; == mul_add_mul_sub
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   buffer b1 f32 written
;   buffer b2 f32
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   access a2 b2 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = const 0.899999976 #3fecccccc0000000
;   %3 f32 = op Mul %1 %2
;   %4 f32 = load a2
;   %5 f32 = op Add %3 %4
;   %6 f32 = const 0.00999999978 #3f847ae140000000
;   %7 f32 = op Mul %5 %6
;   %8 f32 = op Sub %0 %7
;   %9 f32 = store a0 %8
;   %10 f32 = store a1 %5
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
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = add i64 %6, 4095
  %14 = lshr i64 %13, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %132, %tail.end ]
  %15 = phi i64 [ %2, %work ], [ %131, %tail.end ]
  %16 = icmp slt i64 %task1, %3
  br i1 %16, label %task, label %task.end

task:                                             ; preds = %task.head
  %17 = mul i64 %15, 4096
  %18 = add i64 %17, 4096
  %19 = call i64 @llvm.smin.i64(i64 %18, i64 %6)
  %20 = sub i64 %19, %17
  %21 = and i64 %20, -32
  %22 = add i64 %17, %21
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %17, %task ], [ %107, %vector ]
  %23 = icmp slt i64 %vector2, %22
  br i1 %23, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %24 = mul i64 %vector2, 1
  %25 = getelementptr float, ptr %8, i64 %24
  %26 = load <8 x float>, ptr %25, align 4
  %27 = mul i64 %vector2, 1
  %28 = getelementptr float, ptr %8, i64 %27
  %29 = getelementptr float, ptr %28, i64 8
  %30 = load <8 x float>, ptr %29, align 4
  %31 = mul i64 %vector2, 1
  %32 = getelementptr float, ptr %8, i64 %31
  %33 = getelementptr float, ptr %32, i64 16
  %34 = load <8 x float>, ptr %33, align 4
  %35 = mul i64 %vector2, 1
  %36 = getelementptr float, ptr %8, i64 %35
  %37 = getelementptr float, ptr %36, i64 24
  %38 = load <8 x float>, ptr %37, align 4
  %39 = mul i64 %vector2, 1
  %40 = getelementptr float, ptr %10, i64 %39
  %41 = load <8 x float>, ptr %40, align 4
  %42 = mul i64 %vector2, 1
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = getelementptr float, ptr %43, i64 8
  %45 = load <8 x float>, ptr %44, align 4
  %46 = mul i64 %vector2, 1
  %47 = getelementptr float, ptr %10, i64 %46
  %48 = getelementptr float, ptr %47, i64 16
  %49 = load <8 x float>, ptr %48, align 4
  %50 = mul i64 %vector2, 1
  %51 = getelementptr float, ptr %10, i64 %50
  %52 = getelementptr float, ptr %51, i64 24
  %53 = load <8 x float>, ptr %52, align 4
  %54 = fmul <8 x float> %41, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %55 = fmul <8 x float> %45, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %56 = fmul <8 x float> %49, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %57 = fmul <8 x float> %53, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %58 = mul i64 %vector2, 1
  %59 = getelementptr float, ptr %12, i64 %58
  %60 = load <8 x float>, ptr %59, align 4
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %12, i64 %61
  %63 = getelementptr float, ptr %62, i64 8
  %64 = load <8 x float>, ptr %63, align 4
  %65 = mul i64 %vector2, 1
  %66 = getelementptr float, ptr %12, i64 %65
  %67 = getelementptr float, ptr %66, i64 16
  %68 = load <8 x float>, ptr %67, align 4
  %69 = mul i64 %vector2, 1
  %70 = getelementptr float, ptr %12, i64 %69
  %71 = getelementptr float, ptr %70, i64 24
  %72 = load <8 x float>, ptr %71, align 4
  %73 = fadd <8 x float> %54, %60
  %74 = fadd <8 x float> %55, %64
  %75 = fadd <8 x float> %56, %68
  %76 = fadd <8 x float> %57, %72
  %77 = fmul <8 x float> %73, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %78 = fmul <8 x float> %74, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %79 = fmul <8 x float> %75, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %80 = fmul <8 x float> %76, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %81 = fsub <8 x float> %26, %77
  %82 = fsub <8 x float> %30, %78
  %83 = fsub <8 x float> %34, %79
  %84 = fsub <8 x float> %38, %80
  %85 = mul i64 %vector2, 1
  %86 = getelementptr float, ptr %8, i64 %85
  store <8 x float> %81, ptr %86, align 4
  %87 = mul i64 %vector2, 1
  %88 = getelementptr float, ptr %8, i64 %87
  %89 = getelementptr float, ptr %88, i64 8
  store <8 x float> %82, ptr %89, align 4
  %90 = mul i64 %vector2, 1
  %91 = getelementptr float, ptr %8, i64 %90
  %92 = getelementptr float, ptr %91, i64 16
  store <8 x float> %83, ptr %92, align 4
  %93 = mul i64 %vector2, 1
  %94 = getelementptr float, ptr %8, i64 %93
  %95 = getelementptr float, ptr %94, i64 24
  store <8 x float> %84, ptr %95, align 4
  %96 = mul i64 %vector2, 1
  %97 = getelementptr float, ptr %10, i64 %96
  store <8 x float> %73, ptr %97, align 4
  %98 = mul i64 %vector2, 1
  %99 = getelementptr float, ptr %10, i64 %98
  %100 = getelementptr float, ptr %99, i64 8
  store <8 x float> %74, ptr %100, align 4
  %101 = mul i64 %vector2, 1
  %102 = getelementptr float, ptr %10, i64 %101
  %103 = getelementptr float, ptr %102, i64 16
  store <8 x float> %75, ptr %103, align 4
  %104 = mul i64 %vector2, 1
  %105 = getelementptr float, ptr %10, i64 %104
  %106 = getelementptr float, ptr %105, i64 24
  store <8 x float> %76, ptr %106, align 4
  %107 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %22, %vector.end ], [ %130, %tail ]
  %108 = icmp slt i64 %tail3, %19
  br i1 %108, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %109 = sub i64 %19, %tail3
  %110 = call i64 @llvm.umin.i64(i64 %109, i64 8)
  %111 = trunc i64 %110 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %111, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %112 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %113 = mul i64 %tail3, 1
  %114 = getelementptr float, ptr %8, i64 %113
  %115 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %114, i32 4, <8 x i1> %112, <8 x float> zeroinitializer)
  %116 = mul i64 %tail3, 1
  %117 = getelementptr float, ptr %10, i64 %116
  %118 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %117, i32 4, <8 x i1> %112, <8 x float> zeroinitializer)
  %119 = fmul <8 x float> %118, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %120 = mul i64 %tail3, 1
  %121 = getelementptr float, ptr %12, i64 %120
  %122 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %121, i32 4, <8 x i1> %112, <8 x float> zeroinitializer)
  %123 = fadd <8 x float> %119, %122
  %124 = fmul <8 x float> %123, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %125 = fsub <8 x float> %115, %124
  %126 = mul i64 %tail3, 1
  %127 = getelementptr float, ptr %8, i64 %126
  call void @llvm.masked.store.v8f32.p0(<8 x float> %125, ptr %127, i32 4, <8 x i1> %112)
  %128 = mul i64 %tail3, 1
  %129 = getelementptr float, ptr %10, i64 %128
  call void @llvm.masked.store.v8f32.p0(<8 x float> %123, ptr %129, i32 4, <8 x i1> %112)
  %130 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %131 = add i64 %15, 1
  %132 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
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

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
